"""What everybody may know: policies, public views, surveys, reports."""
