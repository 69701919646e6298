"""w5, a mixture of experts: rows sorted by expert and grouped products, captured in a CUDA graph."""
import experts

if __name__ == "__main__":
    experts.run_captured("torch grouped graph", experts.Grouped)
