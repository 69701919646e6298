"""Writes nodes.json: what nodes over cubes should give, by scikit-learn, SciPy, NumPy and torch's autograd in double
precision. Needs them all: .venv/bin/python tests/reference/nodes.py"""
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.metrics import (average_precision_score, f1_score, jaccard_score, mutual_info_score, precision_score,
                             recall_score, roc_auc_score)
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

RANDOM = np.random.default_rng(17)
CASES = []


def rounded(values):
    """As float32 has them, so that both sides begin with the same numbers."""
    return np.asarray(values, np.float32).astype(np.float64)


def cube(batch=2, height=3, width=4, channels=5):
    common = RANDOM.normal(size=(batch, height, width, 1))
    own = RANDOM.normal(size=(batch, height, width, channels))
    return rounded(2 + common * np.linspace(0.5, 1.5, channels) + 0.7 * own)


def mask(like, share=0.3):
    return (RANDOM.random(like.shape[:3] + (1,)) < share).astype(np.uint8)


def packed(array):
    array = np.asarray(array)
    kind = "uint8" if array.dtype == np.uint8 else "int32" if array.dtype == np.int32 else "float32"
    return {"type": kind, "shape": list(array.shape), "values": [float(f"{v:.9g}") if kind == "float32" else int(v) for v in array.reshape(-1)]}


def case(name, kind, settings, inputs, outputs, state=None, learns=False, gradients=None, input_gradients=None,
         state_gradients=None, stage="inference", tolerance=1e-5):
    CASES.append({
        "name": name, "type": kind, "settings": settings, "learns": learns, "stage": stage, "tolerance": tolerance,
        "inputs": {k: packed(v) for k, v in inputs.items()},
        "state": {k: packed(v) for k, v in (state or {}).items()},
        "outputs": {k: packed(v) for k, v in outputs.items()},
        "gradients": {k: packed(v) for k, v in (gradients or {}).items()},
        "input_gradients": {k: packed(v) for k, v in (input_gradients or {}).items()},
        "state_gradients": {k: packed(v) for k, v in (state_gradients or {}).items()},
    })


def by_autograd(name, kind, settings, inputs, state, forward, trained=(), through=(), **more):
    """Outputs and gradients of `forward(inputs, state)`, a dict; random gradients of the outputs in `through`."""
    tensors = {k: torch.tensor(v, requires_grad=v.dtype.kind == "f") for k, v in inputs.items()}
    arrays = {k: torch.tensor(v, dtype=torch.float64, requires_grad=k in trained) for k, v in state.items()}
    outputs = forward(tensors, arrays)
    gradients = {k: rounded(RANDOM.normal(size=tuple(outputs[k].shape))) for k in through}
    total = sum((outputs[k] * torch.tensor(gradients[k])).sum() for k in through)
    total.backward()
    case(name, kind, settings, inputs, {k: v.detach().numpy() for k, v in outputs.items()}, state,
         gradients=gradients,
         input_gradients={k: v.grad.numpy() for k, v in tensors.items() if v.grad is not None},
         state_gradients={k: arrays[k].grad.numpy() for k in trained}, **more)


def flat(array):
    return array.reshape(-1, array.shape[-1])


def statistical():
    x = cube()
    scaler = MinMaxScaler().fit(flat(x))
    case("min-max of each channel", "MinMaxNormalizer", {}, {"data": x},
         {"normalized": scaler.transform(flat(x)).reshape(x.shape)},
         {"running_min": scaler.data_min_, "running_max": scaler.data_max_}, learns=True)
    case("min-max of all channels", "MinMaxNormalizer", {"per_channel": False}, {"data": x},
         {"normalized": (x - x.min()) / (x.max() - x.min())},
         {"running_min": np.full(5, x.min()), "running_max": np.full(5, x.max())}, learns=True)
    each = np.stack([MinMaxScaler().fit_transform(flat(image)).reshape(image.shape) for image in x])
    case("min-max of each image", "MinMaxNormalizer", {"use_running_stats": False}, {"data": x}, {"normalized": each})

    deviation = flat(x).std(axis=0, ddof=1) + 1e-8
    mean = StandardScaler().fit(flat(x)).mean_
    case("z-score", "ZScoreNormalizerGlobal", {"num_channels": 5}, {"data": x}, {"normalized": (x - mean) / deviation},
         {"zscore_mean": mean, "zscore_std": deviation}, learns=True)
    by_autograd("z-score backward", "ZScoreNormalizerGlobal", {}, {"data": x},
                {"zscore_mean": rounded(mean), "zscore_std": rounded(deviation)},
                lambda i, s: {"normalized": (i["data"] - s["zscore_mean"]) / s["zscore_std"]},
                ("zscore_mean", "zscore_std"), ("normalized",))

    for whiten in (False, True):
        pca = PCA(3, svd_solver="full").fit(flat(x))
        axes = pca.components_ * np.sign(pca.components_[np.arange(3), np.abs(pca.components_).argmax(axis=1)])[:, None]
        projected = (flat(x) - pca.mean_) @ axes.T
        if whiten:
            projected /= np.sqrt(pca.explained_variance_ + 1e-6)
        case(f"pca whiten {whiten}", "TrainablePCA", {"n_components": 3, "whiten": whiten}, {"data": x},
             {"projected": projected.reshape(x.shape[:3] + (3,)), "components": axes,
              "explained_variance_ratio": pca.explained_variance_ratio_},
             {"mean": pca.mean_, "components": axes, "explained_variance": pca.explained_variance_}, learns=True,
             tolerance=1e-4)

    def project(i, s):
        projected = (i["data"] - s["mean"]) @ s["components"].T / torch.sqrt(s["explained_variance"] + 1e-6)
        return {"projected": projected, "components": s["components"]}
    by_autograd("pca backward", "TrainablePCA", {"n_components": 3, "whiten": True}, {"data": x},
                {"mean": rounded(mean), "components": rounded(RANDOM.normal(size=(3, 5))),
                 "explained_variance": rounded([3, 2, 1]), "explained_variance_ratio": rounded([0.5, 0.3, 0.1])},
                project, ("components",), ("projected", "components"))

    covariance = np.cov(flat(x), rowvar=False) + 1e-6 * np.eye(5)
    inverse = np.linalg.inv(covariance)
    distance = cdist(flat(x), mean[None], "mahalanobis", VI=inverse) ** 2
    case("rx", "RXGlobal", {"num_channels": 5}, {"data": x}, {"scores": distance.reshape(x.shape[:3] + (1,))},
         {"mu": mean, "cov": covariance, "cov_inv": inverse}, learns=True, tolerance=1e-4)

    def form(i, s, centre, matrix):
        apart = i["data"] - s[centre]
        return {"scores": torch.einsum("...c,cd,...d->...", apart, s[matrix], apart)[..., None]}
    by_autograd("rx backward", "RXGlobal", {}, {"data": x},
                {"mu": rounded(mean), "cov": rounded(covariance), "cov_inv": rounded(RANDOM.normal(size=(5, 5)))},
                lambda i, s: form(i, s, "mu", "cov_inv"), ("mu", "cov_inv"), ("scores",))

    for normal in (False, True):
        tied = 1 / (1 + ((mean[:, None] - mean) / mean.mean()) ** 2)
        np.fill_diagonal(tied, 0)
        laplacian = np.diag(tied.sum(axis=1)) - tied
        if normal:
            root = np.diag(tied.sum(axis=1) ** -0.5)
            laplacian = root @ laplacian @ root
        apart = flat(x) - mean
        case(f"lad normalized {normal}", "LADGlobal", {"normalize_laplacian": normal}, {"data": x},
             {"scores": np.einsum("nc,cd,nd->n", apart, laplacian, apart).reshape(x.shape[:3] + (1,))},
             {"M": mean, "L": laplacian}, learns=True, tolerance=1e-4)

    scores = rounded(RANDOM.gamma(2, size=(2, 3, 4, 1)))
    bias = scores.mean() + 2 * scores.std(ddof=1)
    case("logit learns", "ScoreToLogit", {"init_scale": 1.5}, {"scores": scores}, {"logits": 1.5 * (scores - bias)},
         {"scale": np.float64(1.5), "bias": bias}, learns=True)
    by_autograd("logit backward", "ScoreToLogit", {}, {"scores": scores}, {"scale": rounded(1.5), "bias": rounded(0.7)},
                lambda i, s: {"logits": s["scale"] * (i["scores"] - s["bias"])}, ("scale", "bias"), ("logits",))


def selectors():
    x = cube()
    logits = np.log(flat(x).var(axis=0, ddof=1) + 1e-6)
    weights = 3 * np.exp(logits / 5) / np.exp(logits / 5).sum()
    case("selector learns", "SoftChannelSelector", {"n_select": 3, "init_method": "variance"}, {"data": x},
         {"selected": x * weights, "weights": weights},
         {"channel_logits": logits, "temperature": np.float64(5)}, learns=True)

    def select(i, s):
        weights = 2 * F.softmax(s["channel_logits"] / s["temperature"], dim=0)
        return {"selected": i["data"] * weights, "weights": weights}
    state = {"channel_logits": rounded(RANDOM.normal(size=5)), "temperature": rounded(0.8)}
    by_autograd("selector backward", "SoftChannelSelector", {"n_select": 2}, {"data": x}, state, select,
                ("channel_logits",), ("selected", "weights"), stage="train")
    hard = np.zeros(5)
    hard[np.argsort(-state["channel_logits"])[:2]] = 1
    case("selector hard", "SoftChannelSelector", {"n_select": 2, "hard": True}, {"data": x},
         {"selected": x * hard, "weights": hard}, state)

    def mix(i, s, layers, normal):
        y = i["data"]
        for layer in range(layers):
            y = F.leaky_relu(y @ s[f"convs.{layer}.weight"].T + s[f"convs.{layer}.bias"], 0.01)
        if normal:
            least = y.amin(dim=(1, 2), keepdim=True)
            y = (y - least) / (y.amax(dim=(1, 2), keepdim=True) - least).clamp_min(1e-6)
        return {"rgb": y}
    for normal in (False, True):
        widths = [5, 4, 3]
        state = {}
        for layer in range(2):
            state[f"convs.{layer}.weight"] = rounded(RANDOM.normal(size=(widths[layer + 1], widths[layer])))
            state[f"convs.{layer}.bias"] = rounded(RANDOM.normal(size=widths[layer + 1]))
        by_autograd(f"mixer normalized {normal}", "LearnableChannelMixer",
                    {"output_channels": 3, "reduction_scheme": widths, "normalize_output": normal}, {"data": x}, state,
                    lambda i, s: mix(i, s, 2, normal), tuple(state), ("rgb",), tolerance=1e-4)
    pca = PCA(3, svd_solver="full").fit(flat(x))
    axes = pca.components_ * np.sign(pca.components_[np.arange(3), np.abs(pca.components_).argmax(axis=1)])[:, None]
    case("mixer learns", "LearnableChannelMixer",
         {"output_channels": 3, "init_method": "pca", "normalize_output": False, "use_activation": False}, {"data": x},
         {"rgb": x @ axes.T, "weights": axes}, {"convs.0.weight": axes, "convs.0.bias": np.zeros(3)}, learns=True,
         tolerance=1e-4)

    big = cube(2, 12, 10, 6)
    marks = mask(big, 0.4)
    big = rounded(big + marks * np.array([0, 0.5, 2, 0, 1.5, 0.1]))
    pixels, labels = flat(big), marks.reshape(-1)
    zero, one = pixels[labels == 0], pixels[labels == 1]
    fisher = (one.mean(axis=0) - zero.mean(axis=0)) ** 2 / (one.var(axis=0) + zero.var(axis=0))
    auc = [roc_auc_score(labels, band) for band in pixels.T]
    information = []
    for band in pixels.T:
        bins = np.minimum(9, ((band - band.min()) / (band.max() - band.min()) * 10).astype(int))
        information.append(mutual_info_score(labels, bins) / np.log(2))
    combined = sum((np.array(s) - np.mean(s)) / np.std(s) for s in (fisher, auc, information))
    alike = np.abs(np.corrcoef(pixels, rowvar=False))
    chosen = []
    while len(chosen) < 3:
        left = [i for i in range(6) if i not in chosen]
        chosen.append(max(left, key=lambda i: combined[i] - 0.5 * max([alike[i, j] for j in chosen], default=0)))
    rgb = big[..., chosen]
    least, most = rgb.min(axis=(1, 2), keepdims=True), rgb.max(axis=(1, 2), keepdims=True)
    case("supervised selector", "SupervisedFullSpectrumSelector", {},
         {"cube": big, "wavelengths": rounded(np.arange(6) * 50 + 450), "mask": marks},
         {"rgb_image": (rgb - least) / (most - least)},
         {"selected_indices": np.array(chosen, float), "fisher_scores": fisher, "auc_scores": np.array(auc),
          "mi_scores": np.array(information), "band_scores": combined}, learns=True)


def deep_svdd():
    x = cube()
    for kernel in ("linear", "rbf"):
        width = 5 if kernel == "linear" else 7
        state = {"fc1.weight": rounded(RANDOM.normal(size=(6, width))), "fc1.bias": rounded(RANDOM.normal(size=6)),
                 "fc2.weight": rounded(RANDOM.normal(size=(4, 6)))}
        trained = tuple(state)
        if kernel == "rbf":
            state |= {"rff.weight": rounded(RANDOM.normal(size=(7, 5))), "rff.phase": rounded(RANDOM.random(7) * 6)}

        def embed(i, s):
            entered = i["data"]
            if "rff.weight" in s:
                entered = np.sqrt(2 / 7) * torch.cos(entered @ s["rff.weight"].T + s["rff.phase"])
            return {"embeddings": F.relu(entered @ s["fc1.weight"].T + s["fc1.bias"]) @ s["fc2.weight"].T}
        by_autograd(f"projection {kernel}", "DeepSVDDProjection",
                    {"rep_dim": 4, "hidden": 6, "kernel": kernel, "n_rff": 7}, {"data": x}, state, embed, trained,
                    ("embeddings",), tolerance=1e-4)
    mean = flat(x).mean(axis=0)
    case("centre", "DeepSVDDCenterTracker", {"rep_dim": 5}, {"embeddings": x}, {"center": mean},
         {"tracked_center": mean}, learns=True)
    centre = rounded(RANDOM.normal(size=5))
    case("centre follows", "DeepSVDDCenterTracker", {"alpha": 0.25}, {"embeddings": x},
         {"center": 0.75 * centre + 0.25 * mean}, {"tracked_center": centre}, stage="train")
    inputs = {"embeddings": x, "center": centre}
    by_autograd("svdd scores", "DeepSVDDScores", {}, inputs, {},
                lambda i, s: {"scores": ((i["embeddings"] - i["center"]) ** 2).sum(-1, keepdim=True)}, (), ("scores",))

    def svdd_loss(i, s):
        radius = F.softplus(s["r_unconstrained"], beta=10)
        distance = ((i["embeddings"] - i["center"]) ** 2).sum(-1)
        return {"loss": 0.7 * (radius ** 2 + F.relu(distance - radius ** 2).mean() / 0.1)}
    by_autograd("svdd loss", "DeepSVDDSoftBoundaryLoss", {"nu": 0.1, "weight": 0.7}, inputs,
                {"r_unconstrained": rounded(2.5)}, svdd_loss, ("r_unconstrained",), ("loss",))


def stateless():
    x = cube()
    case("unit norm", "PerPixelUnitNorm", {}, {"data": x}, {"normalized": normalize(flat(x)).reshape(x.shape)})
    by_autograd("unit norm backward", "PerPixelUnitNorm", {}, {"data": x}, {},
                lambda i, s: {"normalized": F.normalize(i["data"], dim=-1, eps=1e-8)}, (), ("normalized",))
    scores = []
    for image in x:
        covariance = np.cov(flat(image), rowvar=False) + 1e-2 * np.eye(5)
        scores.append(cdist(flat(image), flat(image).mean(axis=0)[None], "mahalanobis", VI=np.linalg.inv(covariance)) ** 2)
    case("rx of each image", "RXPerBatch", {"eps": 1e-2}, {"data": x},
         {"scores": np.stack(scores).reshape(x.shape[:3] + (1,))}, tolerance=1e-4)
    wavelengths = rounded([450, 550, 650, 750, 850])
    by_autograd("bandpass", "BandpassByWavelength", {"min_wavelength_nm": 500, "max_wavelength_nm": 750},
                {"data": x, "wavelengths": wavelengths}, {}, lambda i, s: {"filtered": i["data"][..., 1:4]}, (),
                ("filtered",))
    spectra = rounded(RANDOM.random((3, 1, 1, 5)) + 0.5)
    angles = np.arccos(1 - cdist(flat(x), spectra.reshape(3, 5), "cosine"))
    shape = x.shape[:3]
    case("angles", "SpectralAngleMapper", {}, {"cube": x, "spectral_signature": spectra},
         {"scores": angles.reshape(shape + (3,)), "best_scores": angles.min(axis=1).reshape(shape + (1,)),
          "identity_mask": (angles.argmin(axis=1) + 1).reshape(shape).astype(np.int32)})
    for name, kind, settings, chosen in (("false rgb", "BaselineFalseRGBSelector", {}, [2, 1, 0]),
                                         ("infrared", "CIRFalseColorSelector", {}, [4, 2, 1])):
        rgb = x[..., chosen]
        least, most = rgb.min(axis=(1, 2), keepdims=True), rgb.max(axis=(1, 2), keepdims=True)
        case(name, kind, settings, {"cube": x, "wavelengths": wavelengths}, {"rgb_image": (rgb - least) / (most - least)})


def deciders():
    logits = rounded(RANDOM.normal(size=(3, 6, 5, 2)))
    case("binary", "BinaryDecider", {"threshold": 0.6}, {"logits": logits},
         {"decisions": (1 / (1 + np.exp(-logits)) >= 0.6).astype(np.uint8)})
    for name, dims, axes in (("image", [], (1, 2, 3)), ("channel", [1, 2], (1, 2))):
        case(f"quantile of an {name}", "QuantileBinaryDecider", {"quantile": 0.9, "reduce_dims": dims},
             {"logits": logits},
             {"decisions": (logits >= np.quantile(logits, 0.9, axis=axes, keepdims=True)).astype(np.uint8)})
    best = logits.max(axis=-1, keepdims=True)
    top = np.sort(best.reshape(3, -1), axis=1)[:, -3:].mean(axis=1)
    gate = float(np.sort(top)[1])
    marks = best >= np.quantile(logits, 0.9, axis=(1, 2, 3), keepdims=True)
    marks &= (top >= gate - 1e-6)[:, None, None, None]
    case("two stages", "TwoStageBinaryDecider", {"image_threshold": gate - 1e-6, "top_k_fraction": 0.1, "quantile": 0.9},
         {"logits": logits}, {"decisions": marks.astype(np.uint8)})
    case("two stages by score", "TwoStageBinaryDecider", {"pixel_threshold": 0.5}, {"logits": logits},
         {"decisions": (best >= 0.5).astype(np.uint8)})


def losses():
    logits = rounded(3 * RANDOM.normal(size=(2, 3, 4, 1)))
    marks = mask(logits)
    target = torch.tensor(marks, dtype=torch.float64)
    pair = {"predictions": logits, "targets": marks}
    for reduction in ("mean", "sum"):
        by_autograd(f"bce {reduction}", "AnomalyBCEWithLogits", {"weight": 2, "pos_weight": 3, "reduction": reduction},
                    pair, {}, lambda i, s: {"loss": 2 * F.binary_cross_entropy_with_logits(
                        i["predictions"], target, pos_weight=torch.tensor(3.0), reduction=reduction)}, (), ("loss",))

    def share(i, method):
        x = i["predictions"]
        if method == "sigmoid":
            x = torch.sigmoid(x)
        elif method == "clamp":
            x = x.clamp(0, 1)
        else:
            x = (x - x.min()) / (x.max() - x.min() + 1e-6)
        both = (x * target).sum()
        return {"loss": 0.5 * (1 - (both + 1e-6) / (x.sum() + target.sum() - both + 1e-6))}
    for method in ("sigmoid", "clamp", "minmax"):
        by_autograd(f"iou {method}", "IoULoss", {"weight": 0.5, "normalize_method": method}, pair, {},
                    lambda i, s: share(i, method), (), ("loss",))
    one, other = cube(), cube()
    by_autograd("reconstruction", "MSEReconstructionLoss", {"weight": 3}, {"reconstruction": one, "target": other}, {},
                lambda i, s: {"loss": 3 * F.mse_loss(i["reconstruction"], i["target"])}, (), ("loss",))
    axes = rounded(RANDOM.normal(size=(3, 5)))
    by_autograd("orthogonality", "OrthogonalityLoss", {"weight": 0.3}, {"components": axes}, {},
                lambda i, s: {"loss": 0.3 * ((i["components"] @ i["components"].T - torch.eye(3)) ** 2).sum()}, (),
                ("loss",))

    def distinct(i, s):
        w = F.normalize(i["selection_weights"], dim=-1)
        return {"loss": 0.1 * (w @ w.T)[torch.triu_indices(3, 3, 1).unbind()].mean()}
    by_autograd("distinctness", "DistinctnessLoss", {}, {"selection_weights": axes}, {}, distinct, (), ("loss",))
    weights = rounded(RANDOM.random(6))
    for wanted in (None, 1.2):
        def entropy(i, s):
            p = i["weights"] / (i["weights"].sum() + 1e-6)
            value = -(p * torch.log(p + 1e-6)).sum()
            return {"loss": 0.1 * (-value if wanted is None else (value - wanted) ** 2)}
        by_autograd(f"entropy {wanted}", "SelectorEntropyRegularizer", {"weight": 0.1, "target_entropy": wanted},
                    {"weights": weights}, {}, entropy, (), ("loss",))
    by_autograd("diversity", "SelectorDiversityRegularizer", {"weight": 0.2}, {"weights": weights}, {},
                lambda i, s: {"loss": -0.2 * i["weights"].var(unbiased=False)}, (), ("loss",))


def metrics():
    ratios = rounded([0.6, 0.25, 0.1])
    case("explained variance", "ExplainedVarianceMetric", {}, {"explained_variance_ratio": ratios},
         {"total_explained_variance": ratios.sum(), "cumulative_variance": ratios.cumsum()}, stage="val")
    logits = rounded(np.round(RANDOM.normal(size=(2, 5, 6, 1)), 1))
    marks, decided = mask(logits), (logits > 0.3).astype(np.uint8)
    truth, made = marks.reshape(-1), decided.reshape(-1)
    case("anomaly metrics", "AnomalyDetectionMetrics", {}, {"decisions": decided, "targets": marks, "logits": logits},
         {"precision": precision_score(truth, made), "recall": recall_score(truth, made),
          "f1_score": f1_score(truth, made), "iou": jaccard_score(truth, made),
          "average_precision": average_precision_score(truth, logits.reshape(-1))}, stage="val")


for group in (statistical, selectors, deep_svdd, stateless, deciders, losses, metrics):
    group()
lines = ",\n".join(json.dumps(each) for each in CASES)
Path(__file__).with_suffix(".json").write_text(f"[\n{lines}\n]\n")
print(len(CASES), "cases of", len({each["type"] for each in CASES}), "types")
