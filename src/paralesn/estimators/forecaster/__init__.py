"""The default forecaster: a bank of smoothers and a reservoir, weighed by rolling origins."""
