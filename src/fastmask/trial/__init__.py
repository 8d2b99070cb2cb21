"""A real model put to the test: the same questions with and without a mask."""
