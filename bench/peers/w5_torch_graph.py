"""w5, a mixture of experts: dense graph."""
import experts

if __name__ == "__main__":
    experts.run_captured("torch dense graph", experts.Dense)
