"""The program at each participant's side: it checks a campaign, keeps a ledger of what it answered, and answers."""
