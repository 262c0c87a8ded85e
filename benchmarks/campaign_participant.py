"""The participant's side of campaigns, measured: ``python -m benchmarks.campaign_participant kills|speed``."""

from support.campaign_participant_drills import main

if __name__ == "__main__":
    raise SystemExit(main())
