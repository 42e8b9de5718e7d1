"""The images of `ferry bench data.jpeg` by PyTorch: data.py FOLDER pillow|tensors WORKERS BATCH SIDE WARM_UP STEPS

Prints images a second. The loader gives what ferry gives, uint8 images and labels, of one long epoch, so that its workers never stop
between epochs. They decode by Pillow, as torchvision's ImageFolder does, or by torchvision's own decoder, whose tensors its transforms take, too.
"""
import sys
import time

try:
    import torch
    import torchvision
    from torchvision import transforms
    from torchvision.transforms import v2
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

FOLDER, DECODER = sys.argv[1:3]
WORKERS, BATCH, SIDE, WARM_UP, STEPS = map(int, sys.argv[3:])


def decoded(path):
    return torchvision.io.decode_image(path, torchvision.io.ImageReadMode.RGB)


def main():
    def views(of):
        return [of.RandomResizedCrop(SIDE), of.RandomHorizontalFlip()]

    # Each with the transforms that are faster on what it decodes to.
    if DECODER == "pillow":
        images = torchvision.datasets.ImageFolder(FOLDER, transforms.Compose([*views(transforms), transforms.PILToTensor()]))
    else:
        images = torchvision.datasets.ImageFolder(FOLDER, v2.Compose(views(v2)), loader=decoded)
    epochs = -(-(WARM_UP + STEPS) * BATCH // len(images))
    loader = torch.utils.data.DataLoader(torch.utils.data.ConcatDataset([images] * epochs), BATCH, shuffle=True, num_workers=WORKERS)
    for step, _ in enumerate(loader, 1):
        if step == WARM_UP:
            begin = time.perf_counter()
        if step == WARM_UP + STEPS:
            print(STEPS * BATCH / (time.perf_counter() - begin), flush=True)
            break


if __name__ == "__main__":
    main()
