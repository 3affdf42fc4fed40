"""Java in this process: the virtual machine, the one thread that owns it, and the classes in use."""
