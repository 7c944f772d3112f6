"""The `code` environment: its tasks, its grading, and the environment itself."""
