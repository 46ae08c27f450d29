"""Callbacks for other libraries' training loops, each in a module that needs its library."""
