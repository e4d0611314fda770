"""What stands out over a page: routes, trials, questions and guesses."""
