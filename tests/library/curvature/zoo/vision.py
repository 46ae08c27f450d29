"""Networks of images and of volumes."""

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from ..cases import IMAGES, normal
from .specimens import Lambda, listed
from .vectors import TRAINING, evaluated


def scores(*layers: nn.Module, channels: int = 2) -> nn.Module:
    """Class scores by the average over the image."""
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 3))


def residual(norm: nn.Module) -> nn.Module:
    return Lambda(
        lambda self, x: self.head((y := self.stem(x)) + self.norm(self.body(y)).relu()),
        stem=nn.Conv2d(1, 2, 3), body=nn.Conv2d(2, 2, 3, padding=1, bias=False), norm=norm,
        head=scores(),
    )  # fmt: skip


def transformed() -> nn.Module:
    """A spatial transformer."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        grid = functional.affine_grid(self.place(x.flatten(1)).view(-1, 2, 3), x.shape,
                                      align_corners=False)  # fmt: skip
        return self.head(functional.grid_sample(x, grid, align_corners=False))

    return Lambda(forward, place=nn.Linear(36, 6), head=scores(nn.Conv2d(1, 2, 3)))


NETWORKS = listed(
    ("convolution", lambda: scores(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))),
    ("dilated convolution", lambda: scores(
        nn.Conv2d(1, 2, 2, dilation=2, padding_mode="circular", padding=1), nn.Tanh())),
    ("transposed convolution", lambda: scores(nn.ConvTranspose2d(1, 2, 2, stride=2), nn.Tanh())),
    ("depthwise convolution", lambda: scores(
        nn.Conv2d(1, 2, 1), nn.Conv2d(2, 2, 3, groups=2, padding="same"), nn.Tanh())),
    ("group norm", lambda: scores(nn.Conv2d(1, 2, 3), nn.GroupNorm(2, 2), nn.SiLU())),
    ("instance norm",
     lambda: scores(nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2, affine=True), nn.SiLU())),
    ("weight norm of a convolution",
     lambda: scores(parametrizations.weight_norm(nn.Conv2d(1, 2, 3)), nn.Tanh())),
    ("residual network", lambda: residual(evaluated(nn.BatchNorm2d(2)))),
    inputs=IMAGES,
)  # fmt: skip
NETWORKS += listed(
    ("convolution of volumes", lambda: nn.Sequential(
        nn.Conv3d(1, 2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3))),
    inputs=normal(5, 1, 3, 3, 3),
)  # fmt: skip
NETWORKS += listed(
    ("residual network in training", lambda: residual(nn.BatchNorm2d(2))),
    inputs=IMAGES, mixed=TRAINING,
)  # fmt: skip
NETWORKS += listed(
    ("spatial transformer", transformed),
    inputs=IMAGES,
)  # fmt: skip
