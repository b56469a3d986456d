"""One thread for torch: arrays are small, and several test processes share the machine."""

import torch

torch.set_num_threads(1)
