"""w5, a mixture of experts: dense."""
import experts

if __name__ == "__main__":
    experts.run_plain("torch dense", experts.Dense)
