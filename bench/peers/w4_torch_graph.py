"""w4, a triangulation over sets of receivers, in PyTorch with the step captured as a CUDA graph."""
import sets

if __name__ == "__main__":
    sets.run_captured("torch CUDA graph", compiled=False)
