"""w2, an LSTM over windows, in PyTorch with the step captured as a CUDA graph."""
import sequences

if __name__ == "__main__":
    sequences.run_captured("w2", "torch CUDA graph", compiled=False)
