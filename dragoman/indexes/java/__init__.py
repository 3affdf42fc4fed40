"""Java in this process: the virtual machine, the thread that owns it, and the classes in use."""
