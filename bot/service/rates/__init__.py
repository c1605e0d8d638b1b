"""Exchange rates of real money: public sources, their median, and the job that keeps it fresh."""
