"""Campaigns: a collection from real participants. What both sides share is here; each side has a folder of its own."""
