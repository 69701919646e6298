"""w3, a transformer over windows, in PyTorch with the step captured as a CUDA graph."""
import sequences

if __name__ == "__main__":
    sequences.run_captured("w3", "torch CUDA graph", compiled=False)
