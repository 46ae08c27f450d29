"""Networks of images and of volumes."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from ..cases import IMAGES, normal
from .specimens import Lambda, free, listed
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


def densely_connected() -> nn.Module:
    return Lambda(
        lambda self, x: self.head(torch.cat([x, self.first(x).tanh()], 1)),
        first=nn.Conv2d(1, 1, 3, padding=1), head=scores(nn.Conv2d(2, 2, 3), nn.SiLU()),
    )  # fmt: skip


def u_net() -> nn.Module:
    """Scores ``(n, 3, pixels)``."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        wide = self.into(x).tanh()
        deep = self.down(functional.avg_pool2d(wide, 2)).tanh()
        up = functional.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(torch.cat([wide, up], 1)).flatten(2)[..., ::5]

    return Lambda(forward, into=nn.Conv2d(1, 2, 3, padding=1),
                  down=nn.Conv2d(2, 2, 3, padding=1), out=nn.Conv2d(4, 3, 1))  # fmt: skip


def inception() -> nn.Module:
    return Lambda(
        lambda self, x: self.head(torch.cat([self.small(x), self.large(x)], 1).tanh()),
        small=nn.Conv2d(1, 1, 1), large=nn.Conv2d(1, 1, 3, padding=1), head=scores(),
    )  # fmt: skip


def squeezed() -> nn.Module:
    """Channels weighted by what the image has as a whole."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        y = self.stem(x)
        return self.head(y * self.gate(y.mean((2, 3))).sigmoid()[..., None, None])

    return Lambda(forward, stem=nn.Conv2d(1, 2, 3), gate=nn.Linear(2, 2), head=scores())


def patches(x: Tensor) -> Tensor:
    """Images ``(n, 1, 6, 6)`` as four tokens of nine pixels."""
    return functional.unfold(x, 3, stride=3).transpose(1, 2)


def vision_transformer() -> nn.Module:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        tokens = self.embed(patches(x)) + self.positions
        tokens = torch.cat([self.token.expand(len(x), 1, 2), tokens], 1)
        return self.head(self.block(tokens)[:, 0])

    block = nn.TransformerEncoderLayer(2, 1, 3, dropout=0.0, batch_first=True, norm_first=True)
    return Lambda(forward, embed=nn.Linear(9, 2), positions=free(4, 2), token=free(1, 1, 2),
                  block=block, head=nn.Linear(2, 3))  # fmt: skip


def mixer() -> nn.Module:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        y = self.embed(patches(x))
        y = y + self.tokens(self.norm(y).transpose(1, 2)).transpose(1, 2)
        return self.head((y + self.channels(y)).mean(1))

    tokens = nn.Sequential(nn.Linear(4, 2), nn.GELU(), nn.Linear(2, 4))
    channels = nn.Sequential(nn.Linear(2, 2), nn.GELU())
    return Lambda(forward, embed=nn.Linear(9, 2), norm=nn.LayerNorm(2), tokens=tokens,
                  channels=channels, head=nn.Linear(2, 3))  # fmt: skip


def convnext() -> nn.Module:
    """Depthwise convolution, layer norm over channels, and a scale for each."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        y = self.stem(x)
        inner = self.norm(self.depthwise(y).permute(0, 2, 3, 1))
        return self.head(y + (self.scale * self.wide(inner)).permute(0, 3, 1, 2))

    return Lambda(
        forward, stem=nn.Conv2d(1, 2, 2, stride=2), norm=nn.LayerNorm(2), scale=free(2),
        depthwise=nn.Conv2d(2, 2, 3, padding=1, groups=2), head=scores(),
        wide=nn.Sequential(nn.Linear(2, 4), nn.GELU(), nn.Linear(4, 2)),
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
    ("average pooling", lambda: scores(nn.Conv2d(1, 2, 3), nn.GELU(), nn.AvgPool2d(2))),
    ("group norm", lambda: scores(nn.Conv2d(1, 2, 3), nn.GroupNorm(2, 2), nn.SiLU())),
    ("instance norm",
     lambda: scores(nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2, affine=True), nn.SiLU())),
    ("local response norm",
     lambda: scores(nn.Conv2d(1, 2, 3), nn.LocalResponseNorm(2), nn.SiLU())),
    ("weight norm of a convolution",
     lambda: scores(parametrizations.weight_norm(nn.Conv2d(1, 2, 3)), nn.Tanh())),
    ("residual network", lambda: residual(evaluated(nn.BatchNorm2d(2)))),
    ("dense network", densely_connected),
    ("U-net", u_net),
    ("inception", inception),
    ("squeeze and excitation", squeezed),
    ("vision transformer", vision_transformer),
    ("mixer", mixer),
    ("ConvNeXt", convnext),
    ("pixel shuffle", lambda: scores(nn.Conv2d(1, 4, 3), nn.PixelShuffle(2), nn.Tanh(),
                                     nn.Conv2d(1, 2, 3))),
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
