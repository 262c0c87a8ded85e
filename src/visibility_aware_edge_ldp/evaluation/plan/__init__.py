"""What an answer will be worth, before anybody is asked: ``planner.plan``."""
