module {
  "foo.region"() ({
  ^bb0(%a: i32, %b: f32):
    %0 = "foo.x"(%a) : (i32) -> i32
    "foo.end"(%0) : (i32) -> ()
  }, {
  }, {
    "foo.end"() : () -> ()
  }) {a = 1} : () -> ()
  "foo.region"() <{p = 1}> ({
    "foo.end"() : () -> ()
  }) {d.a = 1} : () -> ()
  "foo.none"() <{}> : () -> ()
}
