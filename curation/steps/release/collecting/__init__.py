"""From a campaign to the contents and facts of a release."""
