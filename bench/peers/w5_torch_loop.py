"""w5, a mixture of experts: loop."""
import experts

if __name__ == "__main__":
    experts.run_plain("torch loop", experts.Loop)
