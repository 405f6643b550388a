"""Jobs on own data, from files to results: forecast, backtest, tune."""
