#include "common/config/url.h"

#include <catch2/catch.hpp>

namespace dynamo::config {

TEST_CASE("URLs are parsed as leniently as in Go") {
  for (const std::string_view url : {"",
                                     "http://x:8001",
                                     "localhost",
                                     "localhost:8001",
                                     "a:b",
                                     "http://x:",
                                     "http://[::1]:80",
                                     "http://x/%41",
                                     "http://%25x",
                                     "http://a/b c",
                                     "http://a?x=%zz",
                                     "/x:y",
                                     "x/y:z",
                                     "//h:80/p",
                                     "///p:x",
                                     "http://u:p@h:1/",
                                     "mailto:a%zz",
                                     "http://h:80:90",
                                     "http://::1/",
                                     "http://<h>/",
                                     "http://\xC3\xA9/",
                                     "?x:y",
                                     "#x:y",
                                     "*",
                                     "http:",
                                     "http:?q",
                                     "http://[fe80::1%25eth0]/",
                                     "http://h\"/",
                                     "nats://a:4222,nats://b:4222",
                                     "http://a:1,b:2"}) {
    CAPTURE(url);
    CHECK_FALSE(urlProblem(url));
  }
  for (const std::string_view url : {"://bad-url",
                                     "10.0.0.1:8001",
                                     "1a:b",
                                     "http://x:port",
                                     "http://[::1",
                                     "http://[::1]x",
                                     "http://x/%zz",
                                     "http://%41.com",
                                     "http://a b/",
                                     "http://a#%zz",
                                     "a b:c",
                                     "//h:x/p",
                                     "http://u p@h/",
                                     "http://u:%zz@h/",
                                     "http://h\\/",
                                     "http://h^/",
                                     ":",
                                     "+a:b",
                                     "http://[fe80::1%zz]/",
                                     "http://[fe80::1%eth0]/",
                                     "http://[x]/",
                                     "http://h|x/",
                                     "http://%zz/",
                                     "http://h\tx"}) {
    CAPTURE(url);
    CHECK(urlProblem(url));
  }
}

}  // namespace dynamo::config
