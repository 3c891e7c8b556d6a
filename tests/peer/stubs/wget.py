"""llama-server's tests import this package and nothing of it is used: nothing is downloaded."""
