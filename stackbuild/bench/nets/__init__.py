"""Real architectures, written as ONNX graphs with seeded weights: no download, the same file everywhere."""

from __future__ import annotations

from stackbuild.bench.nets.bert import bert
from stackbuild.bench.nets.chess import chess
from stackbuild.bench.nets.gpt import gpt
from stackbuild.bench.nets.net import Net
from stackbuild.bench.nets.resnet import resnet50
from stackbuild.bench.nets.vit import vit
from stackbuild.bench.nets.whisper import whisper_decoder, whisper_encoder
from stackbuild.bench.nets.yolo import yolov5s

NETS: dict[str, Net] = {
    net.name: net for net in (resnet50, bert, yolov5s, chess, gpt, vit, whisper_encoder, whisper_decoder)
}

__all__ = ["NETS", "Net"]
