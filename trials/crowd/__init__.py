"""What the platform's trials share: a server to kill, people who use it, what must hold after."""
