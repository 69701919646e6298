#pragma once

#include "serve/http/schema.h"

namespace stoker::serve::schema {

// A small picture of one cube and its spectra (data/cubes/cube_sight.h).
inline nlohmann::json cube_sight() {
  const nlohmann::json bytes = list_of(whole(), "0 to 255, of the pixels row by row");
  const nlohmann::json spectrum = object("", {{"class", whole("0: not marked")},
                                              {"pixels", whole("That have it")},
                                              {"mean", list_of(number_or_null(), "Of each channel")}});
  nlohmann::json sight =
      object("CubeSight", {{"cube", text("Its name")},
                           {"side", whole("A pixel here stands for so many squared of the cube")},
                           {"height", whole("Of the picture, 64 at most")},
                           {"width", whole()},
                           {"channels", list_of(whole(), "That are red, green and blue")},
                           {"red", bytes},
                           {"green", bytes},
                           {"blue", bytes},
                           {"mask", list_of(whole(), "The highest class in each pixel; empty without masks")},
                           {"spectra", list_of(spectrum, "Of the classes, most pixels first, six at most")}});
  sight["type"] = {"object", "null"};
  sight["description"] = "Null where there is no cube";
  return sight;
}

// Of rows that are hyperspectral cubes (data/cubes/cubes.h).
inline nlohmann::json cubes_look() {
  const nlohmann::json marked =
      object("", {{"class", whole("1 to 255")}, {"name", text()}, {"pixels", whole("That have it")}});
  return object("CubesLook",
                {{"count", whole("Cubes")},
                 {"height", whole("Of a cube, in pixels")},
                 {"width", whole()},
                 {"channels", whole()},
                 {"wavelengths", list_of(number(), "Of the channels in nm; none: not known")},
                 {"lowest", number("Of the finite values")},
                 {"highest", number()},
                 {"nan_pixels", whole("Pixels with a value that is NaN")},
                 {"infinite_pixels", whole()},
                 {"with_masks", whole("Cubes that have a mask")},
                 {"classes", list_of(marked)}},
                {{"sight", cube_sight()}});
}

// The first rows of a table, and of each column what all rows have in it (data/table/preview_json.h).
inline nlohmann::json preview() {
  const nlohmann::json frequent = object("", {{"value", text()}, {"rows", whole("That have it")}});
  nlohmann::json distribution = object(
      "Distribution",
      {{"kind", one_of(std::initializer_list<std::string>{"number", "moment", "text", "truth"})},
       {"count", whole("Values that are not missing")},
       {"distinct", whole("Different values, 10,000 at most")},
       {"more_distinct", of_type("boolean", "Whether there are more of them")}},
      {{"infinite", whole("Infinite numbers, which the other figures leave out")},
       {"lowest", number("Moments are seconds, dates since 1970")},
       {"highest", number()},
       {"mean", number_or_null()},
       {"deviation", number_or_null("Divided by the number of rows")},
       {"quartiles", list_of(number(), "A quarter, half and three quarters of the values are no higher")},
       {"counts", list_of(whole(),
                          "Values in equal steps from the lowest to the highest, 20 of them, or one "
                          "where all values are the same")},
       {"lowest_text", text("Of moments, as the rows show them")},
       {"highest_text", text()},
       {"frequent", list_of(frequent, "Of texts and truths: the ten most frequent, most frequent first")}});
  distribution["type"] = {"object", "null"};
  distribution["description"] = "Null where every value is missing";
  nlohmann::json column =
      object("PreviewColumn", {{"name", text()}, {"type", text()}, {"nulls", whole("Missing, NaN too")}},
             {{"distribution", distribution}});
  return object(
      "Preview",
      {{"rows", whole("Of the whole table")},
       {"columns", list_of(column)},
       {"first_rows", list_of(list_of(text()), "At most 100; missing values are empty")}},
      {{"distribution_rows",
        whole("Rows that the distributions are of: all, or pieces that are evenly spaced over a large "
              "table of a run")},
       {"cubes", cubes_look()}});
}

// A part of a training step (train/explain/step_report.h), with numbers of its own beside these.
inline nlohmann::json step_part() {
  return object("StepPart", {{"step", text("prepare_batch, build_model, init_optimizer, zero_grad, "
                                           "forward, loss, backward or optimizer_step")},
                             {"title", text()},
                             {"text", text("What happens, for people")}});
}

}  // namespace stoker::serve::schema
