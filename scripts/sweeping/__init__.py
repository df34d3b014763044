"""The crash sweep of deskshell itself: what is swept (`shapes`), and the judge of each point (`world`)."""
