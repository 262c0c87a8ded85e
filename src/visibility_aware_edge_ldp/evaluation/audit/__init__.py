"""The audit: every privacy claim of this software, checked on the machine of whoever doubts it."""
