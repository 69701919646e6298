"""w4, a triangulation over sets of receivers, as a plain PyTorch loop."""
import sets

if __name__ == "__main__":
    sets.run_eager()
