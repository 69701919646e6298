"""w1 in scikit-learn: MLPRegressor, which has no dropout. Compare with dropout 0."""
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as Stoker is measured; read when numpy is imported

import w1

try:
    import sklearn
    from sklearn.neural_network import MLPRegressor
except ImportError as missing:
    sys.exit(f"this peer needs scikit-learn: {missing}")


def main():
    settings = w1.options(devices=("cpu",))
    features, targets = w1.rows()
    model = MLPRegressor(hidden_layer_sizes=w1.HIDDEN, activation="relu", solver="adam", alpha=0,
                         batch_size=settings.batch, learning_rate_init=w1.RATE)

    def run_steps(count):
        # partial_fit goes once over what it is given, in batches.
        remaining = count * settings.batch
        while remaining > 0:
            rows = min(remaining, w1.ROWS)
            model.partial_fit(features[:rows], targets[:rows])
            remaining -= rows

    w1.report("scikit-learn MLPRegressor, no dropout", "cpu", settings.batch,
              w1.measure(run_steps, settings.seconds), {"scikit-learn": sklearn.__version__})


if __name__ == "__main__":
    main()
