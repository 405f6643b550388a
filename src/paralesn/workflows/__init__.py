"""Work on people's own data, from files to results: forecast, classify, predict, backtest, tune."""
