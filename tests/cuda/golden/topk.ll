; shared 0
; ModuleID = "topk_f32_largest"

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

@"shared" = external addrspace(3) global [0 x i8]

define internal i64 @"topk_f32_largest"(ptr %".1", i64 %".2", i64 %".3") nounwind
{
entry:
  %".51" = alloca i64
  %".112" = alloca i64
  br label %"start"
start:
  %".5" = getelementptr i64, ptr %".1", i64 0
  %".6" = load i64, ptr %".5"
  %".7" = inttoptr i64 %".6" to ptr
  %".8" = getelementptr i64, ptr %".1", i64 1
  %".9" = load i64, ptr %".8"
  %".10" = inttoptr i64 %".9" to ptr
  %".11" = getelementptr i64, ptr %".1", i64 2
  %".12" = load i64, ptr %".11"
  %".13" = inttoptr i64 %".12" to ptr
  %".14" = getelementptr i64, ptr %".1", i64 3
  %".15" = load i64, ptr %".14"
  %".16" = getelementptr i64, ptr %".1", i64 4
  %".17" = load i64, ptr %".16"
  %".18" = getelementptr i64, ptr %".1", i64 5
  %".19" = load i64, ptr %".18"
  br label %"head"
head:
  %".21" = phi  i64 [%".2", %"start"], [%".153", %"after.2"]
  %".22" = icmp slt i64 %".21", %".3"
  br i1 %".22", label %"loop", label %"after"
loop:
  %".24" = sdiv i64 %".21", %".19"
  %".25" = srem i64 %".21", %".19"
  %".26" = mul i64 %".24", %".15"
  %".27" = mul i64 %".26", %".19"
  %".28" = add i64 %".27", %".25"
  %".29" = mul i64 %".28", 4
  %".30" = add i64 %".6", %".29"
  %".31" = inttoptr i64 %".30" to ptr
  %".32" = mul i64 %".24", %".17"
  %".33" = mul i64 %".32", %".19"
  %".34" = add i64 %".33", %".25"
  %".35" = mul i64 %".34", 4
  %".36" = add i64 %".9", %".35"
  %".37" = inttoptr i64 %".36" to ptr
  %".38" = mul i64 %".24", %".17"
  %".39" = mul i64 %".38", %".19"
  %".40" = add i64 %".39", %".25"
  %".41" = mul i64 %".40", 8
  %".42" = add i64 %".12", %".41"
  %".43" = inttoptr i64 %".42" to ptr
  br label %"head.1"
after:
  ret i64 0
head.1:
  %".45" = phi  i64 [0, %"loop"], [%".89", %"put"]
  %".46" = icmp slt i64 %".45", %".17"
  br i1 %".46", label %"loop.1", label %"after.1"
loop.1:
  %".48" = mul i64 %".45", %".19"
  %".49" = getelementptr inbounds float, ptr %".31", i64 %".48"
  %".50" = load float, ptr %".49", align 4
  store i64 %".45", i64* %".51"
  br label %"look"
after.1:
  %".91" = sub i64 %".17", 1
  %".92" = mul i64 %".91", %".19"
  %".93" = mul i64 %".92", 4
  %".94" = add i64 %".36", %".93"
  %".95" = inttoptr i64 %".94" to ptr
  br label %"head.2"
look:
  %".54" = load i64, i64* %".51"
  %".55" = sub i64 %".54", 1
  %".56" = icmp sgt i64 %".55", 0
  %".57" = select  i1 %".56", i64 %".55", i64 0
  %".58" = mul i64 %".57", %".19"
  %".59" = icmp sgt i64 %".54", 0
  %".60" = getelementptr inbounds float, ptr %".37", i64 %".58"
  %".61" = load float, ptr %".60", align 4
  %".62" = fcmp ogt float %".50", %".61"
  %".63" = fcmp une float %".50", %".50"
  %".64" = fcmp oeq float %".61", %".61"
  %".65" = and i1 %".63", %".64"
  %".66" = or i1 %".62", %".65"
  %".67" = and i1 %".59", %".66"
  br i1 %".67", label %"move", label %"put"
move:
  %".69" = getelementptr inbounds float, ptr %".37", i64 %".58"
  %".70" = load float, ptr %".69", align 4
  %".71" = getelementptr inbounds i64, ptr %".43", i64 %".58"
  %".72" = load i64, ptr %".71", align 8
  %".73" = mul i64 %".54", %".19"
  %".74" = getelementptr inbounds float, ptr %".37", i64 %".73"
  store float %".70", ptr %".74", align 4
  %".76" = mul i64 %".54", %".19"
  %".77" = getelementptr inbounds i64, ptr %".43", i64 %".76"
  store i64 %".72", ptr %".77", align 8
  %".79" = sub i64 %".54", 1
  store i64 %".79", i64* %".51"
  br label %"look"
put:
  %".82" = load i64, i64* %".51"
  %".83" = mul i64 %".82", %".19"
  %".84" = getelementptr inbounds float, ptr %".37", i64 %".83"
  store float %".50", ptr %".84", align 4
  %".86" = mul i64 %".82", %".19"
  %".87" = getelementptr inbounds i64, ptr %".43", i64 %".86"
  store i64 %".45", ptr %".87", align 8
  %".89" = add nsw i64 %".45", 1
  br label %"head.1"
head.2:
  %".97" = phi  i64 [%".17", %"after.1"], [%".151", %"loop.2.endif"]
  %".98" = icmp slt i64 %".97", %".15"
  br i1 %".98", label %"loop.2", label %"after.2"
loop.2:
  %".100" = mul i64 %".97", %".19"
  %".101" = getelementptr inbounds float, ptr %".31", i64 %".100"
  %".102" = load float, ptr %".101", align 4
  %".103" = getelementptr inbounds float, ptr %".95", i64 0
  %".104" = load float, ptr %".103", align 4
  %".105" = fcmp ogt float %".102", %".104"
  %".106" = fcmp une float %".102", %".102"
  %".107" = fcmp oeq float %".104", %".104"
  %".108" = and i1 %".106", %".107"
  %".109" = or i1 %".105", %".108"
  br i1 %".109", label %"loop.2.if", label %"loop.2.endif"
after.2:
  %".153" = add nsw i64 %".21", 1
  br label %"head"
loop.2.if:
  %".111" = sub i64 %".17", 1
  store i64 %".111", i64* %".112"
  br label %"look.1"
loop.2.endif:
  %".151" = add nsw i64 %".97", 1
  br label %"head.2"
look.1:
  %".115" = load i64, i64* %".112"
  %".116" = sub i64 %".115", 1
  %".117" = icmp sgt i64 %".116", 0
  %".118" = select  i1 %".117", i64 %".116", i64 0
  %".119" = mul i64 %".118", %".19"
  %".120" = icmp sgt i64 %".115", 0
  %".121" = getelementptr inbounds float, ptr %".37", i64 %".119"
  %".122" = load float, ptr %".121", align 4
  %".123" = fcmp ogt float %".102", %".122"
  %".124" = fcmp une float %".102", %".102"
  %".125" = fcmp oeq float %".122", %".122"
  %".126" = and i1 %".124", %".125"
  %".127" = or i1 %".123", %".126"
  %".128" = and i1 %".120", %".127"
  br i1 %".128", label %"move.1", label %"put.1"
move.1:
  %".130" = getelementptr inbounds float, ptr %".37", i64 %".119"
  %".131" = load float, ptr %".130", align 4
  %".132" = getelementptr inbounds i64, ptr %".43", i64 %".119"
  %".133" = load i64, ptr %".132", align 8
  %".134" = mul i64 %".115", %".19"
  %".135" = getelementptr inbounds float, ptr %".37", i64 %".134"
  store float %".131", ptr %".135", align 4
  %".137" = mul i64 %".115", %".19"
  %".138" = getelementptr inbounds i64, ptr %".43", i64 %".137"
  store i64 %".133", ptr %".138", align 8
  %".140" = sub i64 %".115", 1
  store i64 %".140", i64* %".112"
  br label %"look.1"
put.1:
  %".143" = load i64, i64* %".112"
  %".144" = mul i64 %".143", %".19"
  %".145" = getelementptr inbounds float, ptr %".37", i64 %".144"
  store float %".102", ptr %".145", align 4
  %".147" = mul i64 %".143", %".19"
  %".148" = getelementptr inbounds i64, ptr %".43", i64 %".147"
  store i64 %".97", ptr %".148", align 8
  br label %"loop.2.endif"
}


define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7", i64 %".8")
{
entry:
  %".14" = alloca i64, i32 6
  br label %"start"
start:
  %".10" = call i64 @"thread"()
  %".11" = call i64 @"threads"()
  %".12" = mul i64 %".1", %".11"
  %".13" = add i64 %".12", %".10"
  %".15" = getelementptr i64, i64* %".14", i64 0
  store i64 %".2", i64* %".15"
  %".17" = getelementptr i64, i64* %".14", i64 1
  store i64 %".3", i64* %".17"
  %".19" = getelementptr i64, i64* %".14", i64 2
  store i64 %".4", i64* %".19"
  %".21" = getelementptr i64, i64* %".14", i64 3
  store i64 %".5", i64* %".21"
  %".23" = getelementptr i64, i64* %".14", i64 4
  store i64 %".6", i64* %".23"
  %".25" = getelementptr i64, i64* %".14", i64 5
  store i64 %".7", i64* %".25"
  %".27" = icmp slt i64 %".13", %".8"
  br i1 %".27", label %"start.if", label %"start.endif"
start.if:
  %".29" = add i64 %".13", 1
  %".30" = call i64 @"topk_f32_largest"(i64* %".14", i64 %".13", i64 %".29")
  br label %"start.endif"
start.endif:
  ret void
}

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7") nounwind
{
entry:
  br label %"start"
start:
  %".9" = call i64 @"threads"()
  %".10" = add i64 %".7", %".9"
  %".11" = sub i64 %".10", 1
  %".12" = call i64 @"threads"()
  %".13" = sdiv i64 %".11", %".12"
  ret i64 %".13"
}
