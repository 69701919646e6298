"""w1 as a PyTorch loop by somebody who knows its switches: the fused Adam, and no oneDNN, which costs small products
more than it gains."""
import torch

import w1
import w1_torch_eager

if __name__ == "__main__":
    torch.backends.mkldnn.enabled = False
    w1_torch_eager.run("torch eager, tuned", w1.options(), fused=True)
