"""w5, a mixture of experts: one expert after the other, with all its rows."""
import experts

if __name__ == "__main__":
    experts.run_plain("torch by expert", experts.ByExpert)
