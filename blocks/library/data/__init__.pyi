from gradwire.blocks.library.data.column import Column as Column
from gradwire.blocks.library.data.dataset import Dataset as Dataset
