"""The platform's area `judge`: k distinct people judge each problem."""
