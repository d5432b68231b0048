#include "measure/annotations.h"

#include <gtest/gtest.h>

#include "support.h"

namespace narrow {
namespace {

TEST(Annotations, NamesOfBothWorlds) {
  EXPECT_EQ(class_label("person"), 0);
  EXPECT_EQ(class_label("tvmonitor"), class_label("tv"));
  EXPECT_EQ(class_label("pottedplant"), class_label("potted plant"));
  EXPECT_EQ(class_label("unicorn"), std::nullopt);
  EXPECT_EQ(class_label("toothbrush"), 79);
}

TEST(Annotations, ReadsEveryObject) {
  const std::vector<TrueBox> boxes = test::must(parse_voc_annotation(R"(<annotation><filename>a.jpg</filename>
    <object><name>dog</name><difficult>1</difficult><bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object>
    <object><name>sofa</name><bndbox><xmax>8</xmax><xmin>5</xmin><ymin>6</ymin><ymax>9</ymax></bndbox></object></annotation>)",
                                                                "a.xml"));
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].box, (Box{1, 2.5, 30, 40}));
  EXPECT_EQ(boxes[0].label, 16);
  EXPECT_EQ(boxes[1].box, (Box{5, 6, 8, 9}));
  EXPECT_EQ(boxes[1].label, 57);
}

TEST(Annotations, ErrorsNameTheFile) {
  const auto message = [](std::string_view xml) {
    const auto result = parse_voc_annotation(xml, "a.xml");
    return result ? std::string("no error") : result.error().message;
  };
  EXPECT_EQ(message("hello"), "'a.xml' is not a VOC annotation: no <annotation> element");
  EXPECT_EQ(message("<annotation><object><name>dog</name>"), "annotation 'a.xml' ends inside an <object>");
  EXPECT_EQ(message("<annotation><object><name>dog</name></object>"), "annotation 'a.xml' has an <object> without <bndbox>");
  EXPECT_EQ(message("<annotation><object><name>dog</name><bndbox><xmin>x</xmin></bndbox></object>"), "annotation 'a.xml' has <xmin> 'x', wanted a number");
  EXPECT_EQ(message("<annotation><object><name>gnu</name><bndbox></bndbox></object>"),
            "annotation 'a.xml' has the class 'gnu', which is none of the 80 COCO classes or their VOC names");
}

}  // namespace
}  // namespace narrow
