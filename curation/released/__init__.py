"""What a released dataset holds, and how its folder is read: ours, or another's."""
