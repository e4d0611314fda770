"""Courses in a process of their own, so that whoever watches them and the steps share no lock."""
