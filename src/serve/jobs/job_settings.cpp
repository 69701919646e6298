#include "config/usual_bounds.h"
#include "serve/jobs/job_document.h"

namespace stoker::serve {

config::Fields fields(TrainingSettings& s) {
  return {
      config::field("dataset_ids", s.dataset_ids, "Datasets on record; several are joined")
          .required()
          .not_empty(),
      config::field("model_architecture", s.model_architecture,
                    "Family of the model; empty: what the columns of the dataset ask for")
          .also_called("model_type", "called model_architecture in a job"),
      config::field("target_column", s.target_column,
                    "Column, or array, to predict; empty: position where there is one"),
      config::field("feature_columns", s.feature_columns, "Columns to predict from; none: all others"),
      config::field("batch_size", s.batch_size, "Rows of a step").within(1, config::most_batch_rows),
      config::field("validation_split", s.validation_split, "Share of the training rows held back to stop by")
          .at_least(0)
          .below(1),
      config::field("preload_to_gpu", s.preload_to_gpu, "false: do not lay all rows into the GPU's memory"),
      config::field("epochs", s.epochs, "Passes over the training rows").within(1, config::most_epochs),
      config::field("learning_rate", s.learning_rate, "Size of a step")
          .above(0)
          .within(0, config::highest_learning_rate),
      config::field("weight_decay", s.weight_decay, "Decay of the weights")
          .within(0, config::highest_weight_decay),
      config::field("dropout", s.dropout, "Share of values left out while training").at_least(0).below(1),
      config::field("lr_scheduler", s.lr_scheduler, "How the learning rate changes")
          .also_called("schedule", "called lr_scheduler in a job"),
      config::field("warmup_epochs", s.warmup_epochs, "Epochs in which the learning rate rises")
          .within(0, config::most_epochs),
      config::field("early_stop_patience", s.early_stop_patience,
                    "Epochs without a better validation loss after which training stops; 0: never")
          .within(0, config::most_patience)
          .also_called("early_stopping_patience", "called early_stop_patience in a job"),
      config::field("early_stop_delta", s.early_stop_delta, "How much better counts as better")
          .within(0, config::largest_loss_step),
      config::field("max_grad_norm", s.max_grad_norm, "Norm that gradients are clipped to; 0: they are not")
          .within(0, config::longest_gradient),
      config::field("accelerator", s.accelerator, "auto, cpu, gpu or cuda"),
      config::field("precision", s.precision, "Precision of products"),
      config::field("where", s.where,
                    "Conditions that rows must meet to be used, as in the card data_filter"),
      config::field("min_snr_db", s.min_snr_db, "Drop rows whose snr_db is below this; null: keep all")
          .optional(),
      config::field("max_gdop", s.max_gdop, "Drop rows whose gdop is above this; null: keep all").optional(),
      config::field("max_receivers", s.max_receivers, "Receivers that the model has room for").optional(),
      config::field("num_workers", s.num_workers,
                    "Nothing here needs it: rows lie where the engine reads them")
          .at_least(0)
          .needs_no("persistent_workers", "no process loads rows here")
          .needs_no("pin_memory", "no process loads rows here"),
      config::field("seed", s.seed, "Of all random numbers").at_least(0),
      config::field("model", s.model, "Further settings of the model's family"),
  };
}

}  // namespace stoker::serve
