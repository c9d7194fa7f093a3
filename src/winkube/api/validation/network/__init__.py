"""Services, what stands behind them, and the classes and addresses of networks."""
