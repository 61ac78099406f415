"""The core's indexes: one file each, the class and the filters that it serves."""
