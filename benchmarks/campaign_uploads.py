"""What a server pays to check one upload, in processor time: ``python -m benchmarks.campaign_uploads``."""

from support.campaign_upload_costs import main

if __name__ == "__main__":
    main()
