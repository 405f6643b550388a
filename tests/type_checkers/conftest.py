"""What type checkers read is no test itself."""

collect_ignore = ["mistakes.py", "user_script.py"]
