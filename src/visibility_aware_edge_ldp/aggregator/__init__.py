"""The untrusted side: sees surveys, reports and public views, never a private bit."""
