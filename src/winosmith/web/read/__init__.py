"""The platform's area `read`: browse, search, download; guidelines and the data card."""
