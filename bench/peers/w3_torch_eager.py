"""w3, a transformer over windows, as a plain PyTorch loop."""
import sequences

if __name__ == "__main__":
    sequences.run_eager("w3")
